"""The last stage: a module that only holds what IREE knows becomes an artifact for one target."""
