"""What every scenario may use beside the driver's own names."""
