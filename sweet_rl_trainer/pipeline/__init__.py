"""The pipeline: recipes, and the stages that they are run as."""
