package import LFSHTTP
package import LFSStorage

extension RequestBody {
    /// A range of what is uploaded.
    package static func source(_ source: UploadSource, _ range: Range<Int64>) -> RequestBody {
        .reading(range) { try source.read(into: $0, at: $1) }
    }
}
