"""Reports: an outcome in the form that a reader wants. Each format is a module with one function."""
