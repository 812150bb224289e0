import Foundation
package import LFSStorage

extension UploadCheckpoint {
    /// A value of the storage's own, as JSON.
    package init(encoding value: some Encodable) throws {
        self.init(rawValue: try JSONEncoder().encode(value))
    }

    /// The value; nil for what another version, or another program, has left. That is no error: the upload begins anew.
    package func decoded<Value: Decodable>() -> Value? {
        do { return try JSONDecoder().decode(Value.self, from: rawValue) } catch { return nil }
    }
}
