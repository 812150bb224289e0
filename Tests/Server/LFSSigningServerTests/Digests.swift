import Crypto
import Foundation
import LFSHTTPStorage

/// Hexadecimal digests of bytes.
enum Digests {
    static func sha256(_ bytes: [UInt8]) -> String { Hex.text(Data(SHA256.hash(data: bytes))) }
    static func md5(_ bytes: [UInt8]) -> String { Hex.text(Data(Insecure.MD5.hash(data: bytes))) }
}
