#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Socket calls that differ between systems, or whose names the server's own methods hide.
enum SocketCalls {
    static func makeStream() -> Int32 {
        #if canImport(Darwin)
        socket(AF_INET, SOCK_STREAM, 0)
        #else
        socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
    }

    /// Waits for a connection and returns its descriptor. A later write to a closed connection raises no SIGPIPE.
    static func nextConnection(of listener: Int32) -> Int32 {
        let raw = accept(listener, nil, nil)
        #if canImport(Darwin)
        var isOn: Int32 = 1
        setsockopt(raw, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
        #endif
        return raw
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to raw: Int32) -> Int {
        #if canImport(Darwin)
        send(raw, bytes.baseAddress, bytes.count, 0)
        #else
        send(raw, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #endif
    }

    static func end(_ raw: Int32) { _ = close(raw) }
}
