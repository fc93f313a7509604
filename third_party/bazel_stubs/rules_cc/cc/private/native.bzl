"""Built-in names, under others: a file cannot re-export a name as itself."""

native_cc_info = CcInfo
