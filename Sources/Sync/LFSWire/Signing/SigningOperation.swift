/// The operation that a request asks for, which applies to all of its objects.
package enum SigningOperation: String, Codable, CaseIterable, Sendable {
    /// Starts the upload of a new object. The answer is an action, an upload in parts, or the object if it already
    /// exists.
    case upload
    /// Returns an action for each part.
    case parts
    /// Lists the parts of an upload that the store has received.
    case state
    /// Combines the parts into the object.
    case complete
    /// Cancels an upload in parts.
    case abort
    /// Returns an action that downloads an object.
    case download
    /// Describes an object.
    case head
    /// Describes an object if it has the given content.
    case confirm
    /// Deletes an object.
    case delete
    /// Lists objects.
    case list

    /// True if the operation changes nothing in the storage.
    package var isReading: Bool {
        switch self {
        case .state, .download, .head, .confirm, .list: true
        case .upload, .parts, .complete, .abort, .delete: false
        }
    }

    /// The maximum number of objects in a request, independent of the server's ``SigningDescription/largestBatch``.
    /// Operations with long replies have such a limit.
    package var largestBatch: Int? {
        switch self {
        case .state, .list: 1
        default: nil
        }
    }
}
