public import Foundation

/// Why the journal could not be read or written. Each has a sentence for people.
public enum FileStorageError: Error, Hashable, Sendable {
    /// A folder of the journal cannot be made or opened.
    case directoryCreationFailed(path: String, reason: String)
    /// A record, or the tags, cannot be written; what was there before is there still.
    case fileWriteFailed(name: String, reason: String)
    /// A record, or the tags, cannot be read.
    case fileReadFailed(name: String, reason: String)
    /// There is no such record.
    case fileNotFound(name: String)
    /// What is stored is no record, or are no tags. Nothing is written over it.
    case decodingFailed(name: String, reason: String)
    /// What was given cannot be stored: a record that ends before it starts, a tag that is named twice, a time in no
    /// year from 1 to 9999.
    case encodingFailed(name: String, reason: String)
    /// A picture cannot be written, or its name is not allowed; what was there before is there still.
    case imageWriteFailed(name: String, reason: String)
    /// The record has no such picture, or its bytes are nowhere.
    case imageNotFound(name: String, reason: String)
}

extension FileStorageError: LocalizedError, CustomStringConvertible {
    /// What happened and what to do about it. It ends with a full stop.
    public var description: String {
        switch self {
        case .directoryCreationFailed(let path, let reason):
            "The folder \(path.shown) cannot be used: \(reason). Name another one, or make room for it."
        case .fileWriteFailed(let name, let reason):
            "\(name.shown) could not be saved: \(reason). What was saved before is unchanged."
        case .fileReadFailed(let name, let reason):
            "\(name.shown) could not be read: \(reason)."
        case .fileNotFound(let name):
            "There is no record \(name.shown). It may have been deleted meanwhile."
        case .decodingFailed(let name, let reason):
            "\(name.shown) is damaged: \(reason). Mend it or move it away; it will not be written over."
        case .encodingFailed(let name, let reason):
            "\(name.shown) cannot be saved as it is: \(reason)."
        case .imageWriteFailed(let name, let reason):
            "The picture \(name.shown) could not be saved: \(reason). Nothing of it was kept."
        case .imageNotFound(let name, let reason):
            "There is no picture \(name.shown): \(reason)."
        }
    }

    /// The same sentence.
    public var errorDescription: String? { description }
}

extension String {
    /// As it may be shown: names come from strangers, and a control character would do something to a terminal.
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
