"""The torch networks a bundle is exported from."""
