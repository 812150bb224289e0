import Crypto
package import LFS

/// The name of a file whose bytes are not all there yet.
package enum PartName {
    /// - Parameter name: what the file is called once it is whole.
    package static func of(_ name: [UInt8], _ id: FileID) -> String {
        ".\(id).\(SHA256.hash(data: name).hex.prefix(8)).part"
    }
}
