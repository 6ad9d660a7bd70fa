"""One module per trace format; none knows another."""
