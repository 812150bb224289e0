import Foundation
package import LFSStorage

/// A stored checkpoint together with the location that it belongs to. At another location it is useless, and that
/// storage could mistake it for its own.
///
/// Format: `LFSC`, the length of the location in four bytes, big-endian, the location in UTF-8, the storage's own
/// bytes. Data that starts differently was saved before envelopes existed, and consists only of the storage's own
/// bytes.
package struct CheckpointEnvelope: Sendable {
    private static let magic = Data("LFSC".utf8)
    private let place: Data

    /// - Parameter capabilities: those of the storage that saves and reads the checkpoints.
    package init(_ capabilities: StorageCapabilities) {
        place = Data((capabilities.location ?? capabilities.kind).utf8)
    }

    /// Adds the envelope to a storage's checkpoint.
    package func seal(_ checkpoint: UploadCheckpoint) -> UploadCheckpoint {
        let length = withUnsafeBytes(of: UInt32(place.count).bigEndian) { Data($0) }
        return UploadCheckpoint(rawValue: Self.magic + length + place + checkpoint.rawValue)
    }

    /// Removes the envelope, if there is one. Returns nil if the checkpoint belongs to another location or cannot be
    /// read.
    package func open(_ kept: UploadCheckpoint?) -> UploadCheckpoint? {
        guard let kept, kept.rawValue.starts(with: Self.magic) else { return kept }
        var rest = kept.rawValue.dropFirst(Self.magic.count)
        let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        guard length == place.count, rest.prefix(length) == place else { return nil }
        return UploadCheckpoint(rawValue: Data(rest.dropFirst(length)))
    }
}
