"""Ratios measured side by side on one machine in one run; nothing here asserts."""
