"""The pages, one module for each subject: each function asks the service, and shows the answer."""
