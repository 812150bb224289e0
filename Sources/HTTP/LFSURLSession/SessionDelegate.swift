import Foundation
import LFSHTTP
import LFSSystem
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The receiver of a session's callbacks, which passes each one to the exchange of its task. The session calls it on
/// one serial queue.
final class SessionDelegate: NSObject, URLSessionDataDelegate {
    private struct Entry {
        let exchange: Exchange
        let body: UploadBody
    }

    /// Opens when the session has ended.
    let closed = Latch()
    /// The path of the file with the authorities to trust. nil trusts those of the system.
    private let authorities: String?
    /// The running tasks by their identifier.
    private let entries = Mutex<[Int: Entry]>([:])

    init(authorities: String?) {
        self.authorities = authorities
    }

    func add(_ exchange: Exchange, body: UploadBody, for task: URLSessionTask) {
        entries.withLock { $0[task.taskIdentifier] = Entry(exchange: exchange, body: body) }
    }

    func remove(_ task: URLSessionTask) {
        _ = entries.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    }

    /// Ends all exchanges with an error.
    func failAll(_ error: HTTPError) {
        for entry in entries.withLock({ Array($0.values) }) { entry.exchange.fail(error) }
    }

    private func entry(of task: URLSessionTask) -> Entry? { entries.withLock { $0[task.taskIdentifier] } }
    private func exchange(of task: URLSessionTask) -> Exchange? { entry(of: task)?.exchange }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let isAccepted = exchange(of: dataTask)?.takeHead(response, of: dataTask) ?? false
        completionHandler(isAccepted ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.takeBody(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.sent(totalBytesSent)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let entry = entry(of: task) else { return }
        entry.exchange.complete(error, bodyFailure: entry.body.failure, bytesSent: task.countOfBytesSent)
    }

    /// Returns the redirect itself as the reply.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    #if canImport(Darwin)
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        completionHandler(entry(of: task)?.body.makeStream())
    }
    #endif

    /// Checks the server's certificate against the options' authorities. Other challenges become a reply with status
    /// 401.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(Security)
        if let authorities, let trust = challenge.protectionSpace.serverTrust {
            do {
                try ServerTrust(authorities).evaluate(trust, host: challenge.protectionSpace.host)
                return completionHandler(.useCredential, URLCredential(trust: trust))
            } catch {
                exchange(of: task)?.fail(error)
                return completionHandler(.cancelAuthenticationChallenge, nil)
            }
        }
        #endif
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        // Linux's Foundation may forget the last tasks of a session that ends.
        for entry in entries.withLock({ Array($0.values) }) {
            entry.exchange.complete(HTTPError.closed, bodyFailure: nil, bytesSent: 0)
        }
        closed.open()
    }
}
