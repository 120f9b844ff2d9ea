"""The site: static pages that are built from a store and from nothing else; see `build`."""
