/// What is done with all objects below a prefix of a bucket.
package enum BucketWork: Sendable {
    /// To fetch them into a folder.
    case download
    /// To delete them.
    case delete
}
