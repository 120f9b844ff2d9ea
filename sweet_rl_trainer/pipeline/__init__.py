"""The pipeline: recipes, and the stages that carry them out."""
