"""The paper's comparison in small: a base model from nothing, all methods on its dialogues, one report."""
