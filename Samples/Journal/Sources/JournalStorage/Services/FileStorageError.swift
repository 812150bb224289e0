public import Foundation

/// The errors of reading and writing a journal. Each has a sentence for people.
public enum FileStorageError: Error, Hashable, Sendable {
    /// A folder of the journal cannot be created or opened.
    case directoryCreationFailed(path: String, reason: Reason)
    /// A record, or the list of tags, cannot be written. The stored version is unchanged.
    case fileWriteFailed(name: String, reason: Reason)
    /// A record, or the list of tags, cannot be read.
    case fileReadFailed(name: String, reason: Reason)
    /// The record does not exist.
    case fileNotFound(name: String)
    /// The stored bytes are not a valid record or a valid list of tags. They are not overwritten.
    case decodingFailed(name: String, reason: Reason)
    /// The given value cannot be stored: a record that ends before it starts, a list with the same tag twice, a time
    /// that is not in the years 1 to 9999.
    case encodingFailed(name: String, reason: Reason)
    /// A picture cannot be written, or its name is not permitted. The stored version is unchanged.
    case imageWriteFailed(name: String, reason: Reason)
    /// The disk of this device is full. Nothing was changed.
    case noSpace
    /// The record has no picture with the name, or the bytes of the picture are lost.
    case imageNotFound(name: String, reason: Reason)

    /// The cause of a failure, as a part of a sentence.
    public struct Reason: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
        /// The cause in words, without a full stop.
        public let description: String
        /// The error of the database, the file system or LFS, or nil without such an error. It does not affect whether
        /// two reasons are equal.
        public let underlyingError: (any Error)?

        /// Creates a reason without an underlying error.
        public init(stringLiteral text: String) {
            description = text
            underlyingError = nil
        }

        /// Creates a reason from its underlying error.
        init(_ error: any Error) {
            description = error.sentence
            underlyingError = error
        }

        public static func == (left: Reason, right: Reason) -> Bool { left.description == right.description }

        public func hash(into hasher: inout Hasher) { hasher.combine(description) }
    }

    /// The error that caused this one. Nil for a value that is not permitted, a missing record, or a full disk.
    public var underlyingError: (any Error)? {
        switch self {
        case .directoryCreationFailed(_, let reason), .fileWriteFailed(_, let reason), .fileReadFailed(_, let reason),
            .decodingFailed(_, let reason), .encodingFailed(_, let reason), .imageWriteFailed(_, let reason),
            .imageNotFound(_, let reason):
            reason.underlyingError
        case .fileNotFound, .noSpace: nil
        }
    }
}

extension FileStorageError: LocalizedError, CustomStringConvertible {
    /// A sentence about the cause and the remedy. It ends with a full stop.
    public var description: String {
        switch self {
        case .directoryCreationFailed(let path, let reason):
            "The folder \(path.shown) cannot be used: \(reason). Name another folder, or remove the cause."
        case .fileWriteFailed(let name, let reason):
            "\(name.shown) could not be saved: \(reason). The previous version is unchanged."
        case .fileReadFailed(let name, let reason):
            "\(name.shown) could not be read: \(reason)."
        case .fileNotFound(let name):
            "There is no record \(name.shown). It may have been deleted."
        case .decodingFailed(let name, let reason):
            "\(name.shown) is damaged: \(reason). Repair it or move it away. It is not overwritten."
        case .encodingFailed(let name, let reason):
            "\(name.shown) cannot be saved as it is: \(reason)."
        case .imageWriteFailed(let name, let reason):
            "The picture \(name.shown) could not be saved: \(reason). No part of it was kept."
        case .noSpace:
            "The disk of this device is full, so nothing was saved. Make room on it, then try again."
        case .imageNotFound(let name, let reason):
            "There is no picture \(name.shown): \(reason)."
        }
    }

    /// The same sentence as ``description``.
    public var errorDescription: String? { description }
}

extension String {
    /// The text without control characters, cut to 200 characters. Names are untrusted input, and a control character
    /// could affect a terminal.
    var shown: String {
        let cut = count > 200 ? prefix(200) + "…" : self[...]
        return cut.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: "�"
            default: String(scalar)
            }
        }.joined()
    }
}

/// An item of the journal that is damaged and cannot be used. All other items remain usable.
public struct DamagedRecord: Hashable, Sendable {
    /// The damaged item: a path in the folder, or a table and the id of a row.
    public let name: String
    /// A sentence for the person who repairs the item.
    public let reason: String
}
