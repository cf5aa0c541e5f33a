"""The frozen shapes that tools answer with and notices consist of."""
