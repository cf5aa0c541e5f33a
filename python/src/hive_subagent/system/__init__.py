"""What the operating system offers: private files, directories, inotify, systemd, logging."""
