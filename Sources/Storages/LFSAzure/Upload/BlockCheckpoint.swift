import LFSHTTPStorage
import LFSStorage

/// A record that an upload in blocks was started, so that a deletion also drops its blocks. The service lists the
/// blocks for a later attempt, which needs the record only for the number of their series.
struct BlockCheckpoint: Codable, Hashable, Sendable {
    /// The SHA-256 of the content.
    var sha256: String
    var partSize: Int64
    /// The number of the series whose blocks an attempt may use. nil means 0.
    var series: UInt16?

    init(_ source: UploadSource, partSize: Int64, series: UInt16? = nil) {
        sha256 = source.sha256
        self.partSize = partSize
        self.series = series
    }

    /// Returns nil for a checkpoint of another version or another storage.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded() else { return nil }
        self = value
    }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
