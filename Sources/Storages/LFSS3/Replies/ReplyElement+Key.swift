import LFSHTTPStorage
import LFSStorage

extension ReplyElement {
    /// Returns a key or a marker. It is decoded if the listing is encoded (`EncodingType`).
    func key(_ name: String, isEncoded: Bool) throws(StorageError) -> String? {
        guard let text = optional(name) else { return nil }
        guard isEncoded else { return text }
        guard let decoded = PercentEncoding.decoded(text) else { throw unreadable(name, text: text) }
        return decoded
    }
}
