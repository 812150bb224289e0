import Foundation
package import LFSStorage

/// A checkpoint as it is kept: with the place that it is of. At another place it is of no use, and might be taken for
/// one of that place's own.
///
/// Format: `LFSC`, the length of the place in four bytes, big-endian, the place in UTF-8, the storage's own bytes. What
/// begins with something else was saved before there were envelopes, and is the storage's own as a whole.
package struct CheckpointEnvelope: Sendable {
    private static let magic = Data("LFSC".utf8)
    private let place: Data

    /// - Parameter capabilities: those of the storage that checkpoints are saved for and read by.
    package init(_ capabilities: StorageCapabilities) {
        place = Data((capabilities.location ?? capabilities.kind).utf8)
    }

    /// What is kept of a storage's own checkpoint.
    package func seal(_ checkpoint: UploadCheckpoint) -> UploadCheckpoint {
        let length = withUnsafeBytes(of: UInt32(place.count).bigEndian) { Data($0) }
        return UploadCheckpoint(rawValue: Self.magic + length + place + checkpoint.rawValue)
    }

    /// The storage's own checkpoint; nil when what is kept is of another place, or cannot be read.
    package func open(_ kept: UploadCheckpoint?) -> UploadCheckpoint? {
        guard let kept, kept.rawValue.starts(with: Self.magic) else { return kept }
        var rest = kept.rawValue.dropFirst(Self.magic.count)
        let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        guard length == place.count, rest.prefix(length) == place else { return nil }
        return UploadCheckpoint(rawValue: Data(rest.dropFirst(length)))
    }
}
