/// The work on all objects below a prefix of a bucket.
package enum BucketWork: Sendable {
    /// Downloads the objects into a folder.
    case download
    /// Deletes the objects.
    case delete
}
