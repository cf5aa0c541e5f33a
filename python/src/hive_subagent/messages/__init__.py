"""Every sentence that a person or a model reads, and its size."""
