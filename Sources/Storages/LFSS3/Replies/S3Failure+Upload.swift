extension S3Failure {
    /// True if S3 reports that the multipart upload does not exist. After a completion, some servers report `NoSuchKey`
    /// instead.
    var isNoSuchUpload: Bool { code == "NoSuchUpload" || (code == "NoSuchKey" && status == 404) }

    /// True if the upload may have been completed, so the object must be examined. Every 404 from S3 to a request about
    /// an upload can mean that, except for a missing bucket.
    var isLostUpload: Bool { isNoSuchUpload || (status == 404 && code != nil && code != "NoSuchBucket") }
}
