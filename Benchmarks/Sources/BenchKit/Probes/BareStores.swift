import Crypto
import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The plain replacement of a small file with the same steps as settings use, but without a lock or a check.
struct BareFile: Sendable {
    let folder: String
    let name: String

    func replace(with bytes: Data, _ call: Int) throws {
        let temporary = "\(folder)/.\(name).\(call)"
        let file = try checked(open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
        defer { close(file) }
        guard bytes.withUnsafeBytes({ write(file, $0.baseAddress, $0.count) }) == bytes.count else {
            throw BenchError("\(temporary) was not written whole.")
        }
        try checked(fsync(file))
        try checked(rename(temporary, "\(folder)/\(name)"))
        let parent = try checked(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        defer { close(parent) }
        try checked(fsync(parent))
    }

    func read(_ name: String, byteCount: Int) throws -> Data {
        let file = try checked(open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC))
        defer { close(file) }
        var bytes = Data(count: byteCount)
        guard bytes.withUnsafeMutableBytes({ pread(file, $0.baseAddress, $0.count, 0) }) == byteCount else {
            throw BenchError("\(name) was not read whole.")
        }
        return bytes
    }

    @discardableResult
    private func checked(_ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw BenchError("\(folder): \(String(cString: strerror(errno)))") }
        return result
    }
}

/// A thread for blocking calls. On Linux, the threads of Dispatch's queues are also Swift's own.
final class BareThread: Sendable {
    private final class Line: Sendable {
        let waiting = Mutex<[@Sendable () -> Void]>([])
        let calls = DispatchSemaphore(value: 0)

        /// Runs calls until one without a body arrives.
        func work() {
            while true {
                calls.wait()
                guard let body = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
                body()
            }
        }
    }

    private let line = Line()

    init() { Thread.detachNewThread { [line] in line.work() } }

    deinit { line.calls.signal() }

    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            line.waiting.withLock { $0.append { continuation.resume(with: Result { try body() }) } }
            line.calls.signal()
        }
    }
}

/// The plain work of an envelope: a derived key (HKDF) and AES-GCM.
struct BareCipher {
    private let key = SymmetricKey(size: .bits256)
    private let context = Data(repeating: 1, count: 120)

    func seal(_ bytes: Data) throws -> Data {
        let salt = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
        let box = try AES.GCM.seal(bytes, using: messageKey(salt), authenticating: context)
        guard let combined = box.combined else { throw BenchError("AES-GCM gave nothing.") }
        return salt + combined
    }

    func open(_ sealed: Data) throws -> Data {
        let box = try AES.GCM.SealedBox(combined: sealed.dropFirst(32))
        return try AES.GCM.open(box, using: messageKey(Data(sealed.prefix(32))), authenticating: context)
    }

    private func messageKey(_ salt: Data) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: salt, info: Data("lfs-settings/1/1".utf8), outputByteCount: 32)
    }
}
