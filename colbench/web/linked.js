// The task in the URL of a page. This is appended to the scripts of reports and comparisons.

/** The ID of the task that the URL names; null if it names none or is malformed. */
function linkedId() {
  if (!location.hash.startsWith("#task=")) return null;
  try {
    return decodeURIComponent(location.hash.slice("#task=".length));
  } catch (error) {
    return null;
  }
}
