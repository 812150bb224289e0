import Crypto
import Foundation
import LFSPassphrase

/// The authentication code of a database copy. It proves that the copy was made by a person who knows the passphrase.
///
/// The code is the comment of an empty last member of the gzip file (RFC 1952, 2.2 and 2.3). Other tools ignore it:
///
/// ```
/// lfs-mac-1 <salt, 32 bytes in hexadecimal> <HMAC-SHA-256 in hexadecimal>
/// ```
///
/// The key is derived from the passphrase by scrypt (N 2¹⁷, r 8, p 1) with the salt. The HMAC (RFC 2104) covers the
/// text `lfs-recovery-1`, the database's id, the writer and the time, each with a newline, and the bytes before the
/// member. Without the passphrase, it is therefore impossible to change a copy, or to pass it off as one of another
/// database or time.
struct CopySeal: Sendable {
    static let variable = "LFS_RECOVERY_PASSPHRASE"

    private static let start: [UInt8] = [0x1F, 0x8B, 8, 0x10, 0, 0, 0, 0, 0, 0xFF]
    private static let word = Array("lfs-mac-1 ".utf8)
    /// The end of the comment, an empty deflate block, and the checksum and length of no data.
    private static let end: [UInt8] = [0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    private static let digits = 64
    private static let byteCount = start.count + word.count + digits + 1 + digits + end.count

    private let passphrase: Passphrase

    /// The seal with the passphrase from the environment. Nil if none is set.
    static var environment: CopySeal? {
        guard let text = ProcessInfo.processInfo.environment[variable], !text.isEmpty else { return nil }
        return CopySeal(passphrase: Passphrase(text))
    }

    /// Adds the code to a compressed copy.
    ///
    /// - Throws: errors of reading and writing.
    func add(to file: URL, of databaseID: String, in series: CopySeries) async throws {
        var generator = SystemRandomNumberGenerator()
        let salt = Data((0..<32).map { _ in UInt8.random(in: 0...(.max), using: &generator) })
        let context = Self.context(databaseID, writer: series.writer, time: series.time)
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64 ?? 0
        let code = try await code(of: file, byteCount: size, context, salt: salt)
        let member =
            Self.start + Self.word + Array(salt.hexadecimal.utf8) + [0x20] + Array(Data(code).hexadecimal.utf8)
            + Self.end
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(member))
    }

    /// Removes the code from a downloaded copy, so that only the compressed database remains.
    ///
    /// - Parameter isChecked: true if the code must exist and match.
    /// - Throws: ``UploaderError`` for a copy that is not proven to come from the user.
    static func remove(from file: URL, of copy: RecoveryCopies.Copy, isChecked: Bool) async throws {
        let handle = try FileHandle(forUpdating: file)
        defer { try? handle.close() }
        let size = Int64(clamping: try handle.seekToEnd())
        let bodySize = max(size - Int64(byteCount), 0)
        try handle.seek(toOffset: UInt64(bodySize))
        let found = parse(try handle.readToEnd() ?? Data())
        if isChecked {
            guard let found else {
                throw UploaderError(
                    """
                    The copy \(copy.key) has no authentication code: anyone who can write to the storage may have made \
                    it. \(advice)
                    """)
            }
            guard let seal = environment else {
                throw UploaderError(
                    "The copy \(copy.key) has an authentication code: set \(variable) to the passphrase of that time.")
            }
            let context = context(copy.databaseID, writer: copy.writer ?? "", time: copy.time)
            guard try await seal.fits(found.code, file: file, byteCount: bodySize, context: context, salt: found.salt)
            else {
                throw UploaderError(
                    """
                    The authentication code of the copy \(copy.key) does not match: the copy was saved with another \
                    passphrase, or it was changed or moved. --saved selects another copy. \(advice)
                    """)
            }
        }
        if found != nil { try handle.truncate(atOffset: UInt64(bodySize)) }
    }

    private static let advice =
        "--unauthenticated accepts it anyway: then check the paths with 'list' before you pull."

    // MARK: Code

    private static func context(_ databaseID: String, writer: String, time: CopyTime) -> Data {
        Data("lfs-recovery-1\n\(databaseID)\n\(writer)\n\(time.name)\n".utf8)
    }

    private func code(
        of file: URL, byteCount: Int64, _ context: Data, salt: Data
    ) async throws -> HMAC<SHA256>.MAC {
        let key = try await PassphraseHashing.scrypt.key(of: passphrase, salt: salt)
        return try Self.hashed(file, byteCount: byteCount, context: context, key: key).finalize()
    }

    /// Compares the code in constant time.
    private func fits(
        _ code: Data, file: URL, byteCount: Int64, context: Data, salt: Data
    ) async throws -> Bool {
        let own = try await self.code(of: file, byteCount: byteCount, context, salt: salt)
        return own == code
    }

    private static func hashed(
        _ file: URL, byteCount: Int64, context: Data, key: SymmetricKey
    ) throws -> HMAC<SHA256> {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        var code = HMAC<SHA256>(key: key)
        code.update(data: context)
        var left = byteCount
        while left > 0, let piece = try handle.read(upToCount: Int(min(left, 256 << 10))), !piece.isEmpty {
            code.update(data: piece)
            left -= Int64(piece.count)
        }
        return code
    }

    /// Parses the member. Nil for bytes in another format.
    private static func parse(_ member: Data) -> (salt: Data, code: Data)? {
        let bytes = Array(member)
        let head = start + word
        guard bytes.count == byteCount, bytes.starts(with: head), bytes.suffix(end.count).elementsEqual(end) else {
            return nil
        }
        let text = bytes[head.count..<(byteCount - end.count)]
        guard text[head.count + digits] == 0x20, let salt = Data(hexadecimal: text.prefix(digits)),
            let code = Data(hexadecimal: text.suffix(digits))
        else { return nil }
        return (salt, code)
    }
}

extension Data {
    fileprivate var hexadecimal: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }

    /// Parses hexadecimal digits. Nil for anything but pairs of lowercase digits.
    fileprivate init?(hexadecimal digits: ArraySlice<UInt8>) {
        let values = digits.compactMap { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        guard values.count == digits.count, values.count % 2 == 0 else { return nil }
        self.init(stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] })
    }
}
