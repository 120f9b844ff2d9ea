"""The stages of a recipe, each with an output folder of its own that is named by all that it depends on."""
