import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A request to a sync server over a separate connection, which is read as slowly as its owner wants. One thread owns a
/// thousand of them, so only ``whole()`` blocks.
final class SyncSocket {
    private let descriptor: Int32
    /// The unprocessed bytes, and the end of the processed ones, in which a searched text may start.
    private var seen: [UInt8] = []
    private(set) var byteCount = 0
    private(set) var isEnded = false

    /// Sends a request to `/v1/sync/…`.
    ///
    /// - Parameter buffer: the size of the system's receive buffer in bytes, or nil for the default.
    /// - Throws: `BenchError`.
    init(port: UInt16, path: String, token: String, body: String, buffer: Int32? = nil) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw BenchError("No socket can be made: \(String(cString: strerror(errno))).") }
        if var size = buffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            bytes.baseAddress.map {
                connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
            } ?? false
        }
        let request =
            "POST /v1/sync/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            + "Authorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let bytes = Array(request.utf8)
        guard isConnected, write(descriptor, bytes, bytes.count) == bytes.count,
            fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0
        else {
            close(descriptor)
            throw BenchError("The server accepts no more connections: \(String(cString: strerror(errno))).")
        }
    }

    deinit { close(descriptor) }

    /// Requests a stream of notes.
    static func stream(
        port: UInt16, token: String, isLive: Bool = false, buffer: Int32? = nil
    ) throws -> SyncSocket {
        try SyncSocket(
            port: port, path: "stream", token: token,
            body: #"{"protocol":1,"types":["NoteV1"],"live":\#(isLive)}"#, buffer: buffer)
    }

    /// Reads the available bytes.
    ///
    /// - Throws: `BenchError` for a broken connection.
    func read(atMost limit: Int = 1 << 16) throws {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = Self.read(descriptor, buffer: &buffer)
        if count > 0 {
            byteCount += count
            seen += buffer[..<count]
        } else if count == 0 {
            isEnded = true
        } else if errno != EAGAIN, errno != EWOULDBLOCK, errno != EINTR {
            throw BenchError("A connection broke: \(String(cString: strerror(errno))).")
        }
    }

    private static func read(_ descriptor: Int32, buffer: inout [UInt8]) -> Int {
        buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// Returns true if a text was read since the last call that found one.
    func take(_ word: String) -> Bool {
        guard let found = Data(seen).range(of: Data(word.utf8)) else {
            if seen.count > 4_096 { seen.removeFirst(seen.count - word.utf8.count) }
            return false
        }
        seen.removeFirst(found.upperBound)
        return true
    }

    /// Discards the bytes that were read.
    func forget() { seen = [] }

    /// Waits for the whole reply.
    ///
    /// - Throws: `BenchError` for a reply without success.
    func whole() throws -> String {
        while !isEnded {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&waiting, 1, 10_000)
            guard waiting.revents != 0 else { throw BenchError("The server has not answered for ten seconds.") }
            try read()
        }
        let text = String(decoding: seen, as: UTF8.self)
        guard text.hasPrefix("HTTP/1.1 200") else { throw BenchError("The server refuses: \(text.prefix(500))") }
        return text
    }

    /// Waits until one of some sockets has data.
    static func wait(for sockets: [SyncSocket], milliseconds: Int32) {
        var waiting = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        poll(&waiting, nfds_t(waiting.count), milliseconds)
    }

    /// Raises the descriptor limit of this process for a number of connections.
    static func allow(_ count: Int) throws {
        var limit = rlimit()
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        getrlimit(resource, &limit)
        let wanted = rlim_t(count + 128)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        guard wanted <= limit.rlim_max, setrlimit(resource, &limit) == 0 else {
            throw BenchError("The system does not allow \(wanted) descriptors: raise 'ulimit -n'.")
        }
    }
}
