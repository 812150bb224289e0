import Foundation
package import LFSStorage

extension UploadCheckpoint {
    /// Creates a checkpoint from a storage's own value, encoded as JSON.
    package init(encoding value: some Encodable) throws {
        self.init(rawValue: try JSONEncoder().encode(value))
    }

    /// Returns the decoded value, or nil for data of another version or program. The upload then starts over.
    package func decoded<Value: Decodable>() -> Value? {
        do { return try JSONDecoder().decode(Value.self, from: rawValue) } catch { return nil }
    }
}
