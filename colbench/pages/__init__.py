"""Pages: finding the HTML in a message, rendering it to a picture, and storing the renders."""
