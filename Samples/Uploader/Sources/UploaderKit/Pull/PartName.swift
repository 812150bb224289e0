import Crypto
package import LFS

/// The name of an incomplete file.
package enum PartName {
    /// - Parameter name: the name of the complete file.
    package static func of(_ name: [UInt8], id: FileID) -> String {
        ".\(id).\(SHA256.hash(data: name).hex.prefix(8)).part"
    }
}
