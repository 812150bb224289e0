/// What a request asks for, of all of its objects.
package enum SigningOperation: String, Codable, CaseIterable, Sendable {
    /// A place to send a new object to: an action, an upload in parts, or the object when it is there already.
    case upload
    /// An action for each part.
    case parts
    /// Which parts of an upload are there.
    case state
    /// Puts the parts together.
    case complete
    /// Gives an upload in parts up.
    case abort
    /// An action that fetches an object.
    case download
    /// Describes an object.
    case head
    /// Describes an object, if it has the content that is named.
    case confirm
    /// Removes an object.
    case delete
    /// Lists objects.
    case list

    /// How many objects a request may have, whatever the server's ``SigningDescription/largestBatch``: the replies to
    /// some are long by themselves.
    package var largestBatch: Int? {
        switch self {
        case .state, .list: 1
        default: nil
        }
    }
}
