package import LFSHTTP
import LFSStorage

#if Curl && canImport(LFSCurl)
import LFSCurl
#endif

/// The engine that this platform has, for storages that were given no other transport. The package's trait `Curl`,
/// which is on by default, is about the one on libcurl.
package enum DefaultTransport {
    /// An engine of its own for one storage, or a stand-in whose every call says that there is none.
    package static func make(_ options: HTTPOptions) -> any HTTPTransport {
        #if Curl && canImport(LFSCurl)
        CurlTransport(options)
        #else
        MissingTransport(reason: .here)
        #endif
    }
}

/// A stand-in where this package has no engine for the platform, or was built without it. It sends nothing.
struct MissingTransport: HTTPTransport {
    enum Reason {
        /// The platform has an engine, and the build left it out.
        case traitOff
        case noEngine

        static var here: Reason {
            #if os(macOS) || os(Linux)
            .traitOff
            #else
            .noEngine
            #endif
        }

        var message: String {
            switch self {
            case .traitOff:
                """
                This program was built without an HTTP engine, so no network storage works. Switch on the trait Curl \
                of the package LFS, which is on by default.
                """
            case .noEngine:
                """
                LFS has no HTTP engine for this platform yet, so no network storage works on it. Files stay in the \
                local store and in the queue.
                """
            }
        }
    }

    let reason: Reason

    /// - Throws: ``StorageError/Code/misconfigured``, always.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw StorageError(.misconfigured, reason.message)
    }

    func shutdown() async {}
}
