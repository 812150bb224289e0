/// The reason why an upload is not needed.
package enum SkipReason: String, Sendable {
    /// The row came from another device, which has the bytes and uploads them.
    case madeElsewhere
    /// The row was deleted, or is `remote` already.
    case notPending
}
