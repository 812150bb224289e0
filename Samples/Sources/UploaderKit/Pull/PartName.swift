import Crypto
package import LFS

/// The name of a file whose bytes are not all there yet.
package enum PartName {
    /// - Parameter name: what the file is called once it is whole.
    package static func of(_ name: [UInt8], _ id: FileID) -> String {
        let mark = SHA256.hash(data: name).prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return ".\(id).\(mark.joined()).part"
    }
}
