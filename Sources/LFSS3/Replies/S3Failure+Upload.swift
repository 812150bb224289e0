extension S3Failure {
    /// Whether the upload in parts is not there (any more), in S3's own words. After a completion some servers say it
    /// of the key.
    var isNoSuchUpload: Bool { code == "NoSuchUpload" || (code == "NoSuchKey" && status == 404) }

    /// Whether the object itself has to be asked for: any 404 of S3 to a request about an upload may mean that it was
    /// completed, whatever S3 calls it.
    var isLostUpload: Bool { isNoSuchUpload || (status == 404 && code != nil && code != "NoSuchBucket") }
}
