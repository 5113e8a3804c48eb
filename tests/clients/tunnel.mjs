// tunnel.mjs URL: an https URL by Node's own CONNECT and TLS, as libraries do it that know
// of proxies; Node 20 by itself does not.  Prints what it got; an error ends it.
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';

const url = new URL(process.argv[2]), proxy = new URL(process.env.HTTPS_PROXY);
const port = url.port || '443';
http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: `${url.hostname}:${port}` })
  .on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${answer.statusMessage}`);
    const inside = tls.connect({ socket, servername: url.hostname });
    https.get(url, { createConnection: () => inside, defaultPort: 443 }, (got) => {
      let text = '';
      got.on('data', (piece) => { text += piece; }).on('end', () => { console.log(got.statusCode, text); socket.destroy(); });
    });
  })
  .end();
