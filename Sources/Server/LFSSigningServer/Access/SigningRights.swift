import LFSWire

/// The operations that a caller may use, besides the rules for objects.
public enum SigningRights: Sendable, Hashable {
    /// All operations.
    case all
    /// Only operations that change nothing in the storage.
    case reading
    /// No operation.
    case none

    func permits(_ operation: SigningOperation) -> Bool {
        switch self {
        case .all: true
        case .reading: operation.isReading
        case .none: false
        }
    }
}
