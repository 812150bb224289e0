import LFSHTTPStorage
import LFSStorage

extension ReplyElement {
    /// A key or a marker, decoded when the listing says that it is encoded (`EncodingType`).
    func key(_ name: String, isEncoded: Bool) throws(StorageError) -> String? {
        guard let text = optional(name) else { return nil }
        guard isEncoded else { return text }
        guard let decoded = PercentEncoding.decoded(text) else { throw unreadable(name, text) }
        return decoded
    }
}
