// certificates
