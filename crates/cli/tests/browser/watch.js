// Collects what goes wrong in a page, and writes down what an exercise of it found.
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)), true);
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => errors.push(`loads ${event.blockedURI}`));
const complain = console.error;
console.error = (...words) => (errors.push(words.join(" ")), complain(...words));
const pause = (ms = 50) => new Promise((done) => setTimeout(done, ms));
const watched = (exercise) =>
  addEventListener("load", async () => {
    await pause(200);
    let found = {};
    try {
      found = await exercise();
    } catch (error) {
      errors.push(String(error.stack));
    }
    found.errors = errors;
    parent.postMessage(JSON.stringify(found), "*");
  });
