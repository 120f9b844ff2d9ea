"""The site: static pages that are built only from a store; see `build`."""
