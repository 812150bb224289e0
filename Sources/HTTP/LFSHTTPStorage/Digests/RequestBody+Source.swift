package import LFSHTTP
package import LFSStorage

extension RequestBody {
    /// Creates a body from a range of the upload's source.
    package static func source(_ source: UploadSource, range: Range<Int64>) -> RequestBody {
        .reading(range) { try source.read(into: $0, at: $1) }
    }
}
